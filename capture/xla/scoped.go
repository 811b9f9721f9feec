package xla

import (
	"bytes"
	"encoding/json"
)

// scopedKey begins, in a TPU instruction's backend configuration (JSON), the list
// of the scratch memory that its kernel takes beside the planned buffers.
var scopedKey = []byte(`"used_scoped_memory_configs":`)

// maxScoped bounds the bytes of a backend configuration that is looked at. Those
// with literals in them are far larger and name no scratch memory.
const maxScoped = windowBytes

// scoped reads the scratch memory of an instruction out of its backend
// configuration, as XProf's Memory Viewer does. What it cannot read it leaves out:
// the configuration is the backend's own affair.
func (p *parser) scoped() {
	if p.wire != wireBytes || p.end-p.pos() > maxScoped {
		return
	}
	config := p.bytes()
	i := bytes.Index(config, scopedKey)
	if i < 0 {
		return
	}
	rest := config[i+len(scopedKey):]
	if bytes.HasPrefix(rest, []byte("[]")) {
		return
	}
	// Numbers may be written as strings there: protobuf's JSON does so for int64.
	var list []struct {
		Space json.Number `json:"memory_space"`
		Size  json.Number `json:"size"`
	}
	if json.NewDecoder(bytes.NewReader(rest)).Decode(&list) != nil {
		return
	}
	var sum int64
	for _, l := range list {
		space, _ := l.Space.Int64()
		if size, err := l.Size.Int64(); err == nil && MemorySpace(space) == vmem && sane(size) && sum <= maxSize {
			sum += size
		}
	}
	p.scopedBytes = max(p.scopedBytes, sum)
}

// devices reads a DeviceAssignmentProto: its computation_count is the number of
// partitions of the program.
func (p *parser) devices(m *Module) {
	for p.enter("device_assignment"); p.next(); {
		if p.num == 2 {
			m.Partitions = max(0, p.int())
		}
	}
}

// sharding reads one OpShardingProto of spmd_parameters_shardings: type OTHER (3)
// splits the parameter over devices.
func (p *parser) sharding(m *Module) {
	for p.enter("spmd_parameters_shardings"); p.next(); {
		if p.num == 1 && p.int() == 3 {
			m.Sharded++
		}
	}
}

// spread is the 64-bit FNV-1a hash, its bits mixed so that sums of hashes tell
// multisets apart. http://www.isthe.com/chongo/tech/comp/fnv/
func spread(b []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range b {
		h = (h ^ uint64(c)) * 1099511628211
	}
	h ^= h >> 32
	return h * 0x9e3779b97f4a7c15
}
