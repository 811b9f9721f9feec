package torch

// ref is a value on the stack or in the memo: a tag in the top four bits.
type ref uint64

const (
	tagNone    ref = iota // an unset memo entry
	tagInt                // 60 bits, signed
	tagHigh               // an integer from 2^63 on: 60 bits, signed, plus 2^64
	tagWide               // index into wide
	tagBeyond             // an integer that needs more than 64 bits
	tagFloat              // index into floats
	tagConst              // None, True or False
	tagText               // number of a text
	tagFrame              // number of a frame
	tagStack              // number of a stack
	tagEmpty              // an empty list
	tagPair               // two integers of 30 bits
	tagOther              // a value that nothing needs
	tagOpen               // a container still under construction: its slot
	tagHeld               // a finished container that waits for its parent: its slot
	tagUsed               // a container that its parent has taken
	tagShift   = 60
	payload    = 1<<tagShift - 1
	constNone  = tagConst << tagShift
	constFalse = tagConst<<tagShift | 1
	constTrue  = tagConst<<tagShift | 2
	empty      = tagEmpty << tagShift
	other      = tagOther << tagShift
	used       = tagUsed << tagShift
	beyond     = tagBeyond << tagShift
)

func (r ref) tag() ref      { return r >> tagShift }
func (r ref) low() uint32   { return uint32(r) }
func (r ref) signed() int64 { return int64(r<<4) >> 4 }

var tagNoun = [...]string{"nothing", "integer", "integer", "integer", "integer beyond 64 bits", "number with a fraction",
	"None or bool", "string", "frame", "list of frames", "empty list", "tuple", "value of another kind", "container",
	"container", "container that was used before"}

func (r ref) noun() string { return tagNoun[r.tag()] }

// intRef makes a value of an integer of at most 60 bits.
func intRef(n int64) ref { return tagInt<<tagShift | ref(n)&payload }

// poolOf is the pool id that pair made.
func poolOf(v ref) PoolID { return PoolID{int64(v >> 30 & (1<<30 - 1)), int64(v & (1<<30 - 1))} }
