package torch

// words are the strings of the schema. Their order gives the constants below;
// the names are those of torch/csrc/cuda/memory_snapshot.cpp and
// torch/csrc/cuda/Module.cpp, and for traces TraceEntry::Action in
// c10/cuda/CUDACachingAllocator.h.
var words = [...]string{
	"action", "addr", "size", "stream", "time_us", "compile_context", "user_metadata", "pool_id",
	"frames", "device_free", "internal_metadata", "category", "forward_frames",
	"name", "filename", "line",
	"address", "requested_size", "state", "history", "real_size",
	"device", "total_size", "allocated_size", "active_size", "segment_type", "segment_pool_id", "is_expandable", "blocks",
	"stage",
	"segments", "device_traces", "allocator_settings", "external_annotations", "host_segments", "host_traces",
	"max_round_threshold", "graph_capture_record_stream_reuse", "trace_alloc_overflowed", "trace_alloc_max_entries",

	"alloc", "free_requested", "free_completed", "segment_alloc", "segment_free", "segment_map", "segment_unmap",
	"snapshot", "oom", "user_defined", "annotate",
	"active_allocated", "active_pending_free", "active_awaiting_free", "inactive",
	"START", "END", "small", "large",
	"", unkeptText,
}

// unkeptText stands for a text that was not kept: see machine.text.
const unkeptText = "(text not kept)"

const (
	keyAction = iota
	keyAddr
	keySize
	keyStream
	keyTime
	keyCompileContext
	keyUserMetadata
	keyPoolID
	keyFrames
	keyDeviceFree
	keyInternalMetadata
	keyCategory
	keyForwardFrames
	keyName
	keyFilename
	keyLine
	keyAddress
	keyRequestedSize
	keyState
	keyHistory
	keyRealSize
	keyDevice
	keyTotalSize
	keyAllocatedSize
	keyActiveSize
	keySegmentType
	keySegmentPoolID
	keyExpandable
	keyBlocks
	keyStage
	keySegments
	keyDeviceTraces
	keySettings
	keyAnnotations
	keyHostSegments
	keyHostTraces
	keyMaxRound
	keyRecordStreamReuse
	keyOverflowed
	keyMaxEntries

	numKeys // keys take one bit each of a mask of 64
)

const (
	wordAlloc = numKeys + iota
	wordFreeRequested
	wordFreeCompleted
	wordSegmentAlloc
	wordSegmentFree
	wordSegmentMap
	wordSegmentUnmap
	wordSnapshot
	wordOOM
	wordUserDefined
	wordAnnotate
	wordAllocated
	wordPendingFree
	wordAwaitingFree
	wordInactive
	wordStart
	wordEnd
	wordSmall
	wordLarge
	wordEmpty
	wordUnkept
)

// keySet is a set of keys, one bit each.
type keySet uint64

func (s keySet) has(key int) bool { return s>>key&1 != 0 }

// shape is what a dict describes. It is known from the dict's own keys, so the
// order of keys and the place in the file do not matter.
type shape uint8

const (
	shapeOther shape = iota
	shapeFrame
	shapeEvent
	shapeBlock
	shapeSegment
	shapeNote
	shapeHistory
	shapeTop
)

// noun names the shapes in messages.
var noun = [...]string{"unknown dict", "frame", "trace entry", "block", "segment", "annotation", "history entry", "snapshot"}

func (s keySet) shape() shape {
	switch {
	case s.has(keyAction):
		return shapeEvent
	case s.has(keyFilename):
		return shapeFrame
	case s.has(keyState):
		return shapeBlock
	case s.has(keyBlocks), s.has(keyTotalSize):
		return shapeSegment
	case s.has(keyStage):
		return shapeNote
	case s.has(keyRealSize):
		return shapeHistory
	case s.has(keySegments), s.has(keyDeviceTraces):
		return shapeTop
	}
	return shapeOther
}
