package mac

import (
	"encoding/binary"
	"fmt"
	"sync"
	"syscall"
	"unsafe"

	"github.com/ebitengine/purego"
)

// Usage is what proc_pid_rusage tells of a process, in bytes.
type Usage struct {
	Footprint int64
	// Peak is the largest footprint in the life of the process. It is lost when the
	// process has been waited for.
	Peak     int64
	Resident int64
	Start    uint64 // with the pid it names one process for ever
}

// The layout of rusage_info_v4 in <sys/resource.h>: a UUID of 16 bytes, then
// numbers of 64 bits.
const (
	flavorV4        = 4
	offsetResident  = 16 + 8*6
	offsetFootprint = 16 + 8*7
	offsetStart     = 16 + 8*8
	offsetPeak      = 16 + 8*28
	usageSize       = 512 // later flavours are longer
)

var library = sync.OnceValues(func() (lib struct {
	rusage   func(pid, flavor int32, buf unsafe.Pointer) int32
	children func(ppid int32, buf unsafe.Pointer, size int32) int32
}, err error) {
	handle, err := purego.Dlopen("/usr/lib/libSystem.B.dylib", purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		return lib, err
	}
	purego.RegisterLibFunc(&lib.rusage, handle, "proc_pid_rusage")
	purego.RegisterLibFunc(&lib.children, handle, "proc_listchildpids")
	return lib, nil
})

// ReadUsage reads the numbers of a process; another user's needs root.
func ReadUsage(pid int) (Usage, error) {
	lib, err := library()
	if err != nil {
		return Usage{}, err
	}
	var buf [usageSize]byte
	if lib.rusage(int32(pid), flavorV4, unsafe.Pointer(&buf[0])) != 0 {
		return Usage{}, fmt.Errorf("proc_pid_rusage %d: %w", pid, syscall.ESRCH)
	}
	at := func(offset int) uint64 { return binary.LittleEndian.Uint64(buf[offset:]) }
	return Usage{
		Footprint: int64(at(offsetFootprint)), Peak: int64(at(offsetPeak)),
		Resident: int64(at(offsetResident)), Start: at(offsetStart),
	}, nil
}

// Children gives the direct children of a process.
func Children(pid int) []int {
	lib, err := library()
	if err != nil {
		return nil
	}
	var buf [4096]int32
	n := lib.children(int32(pid), unsafe.Pointer(&buf[0]), int32(len(buf)*4))
	var list []int
	for _, child := range buf[:max(0, min(int(n), len(buf)))] {
		if child > 0 {
			list = append(list, int(child))
		}
	}
	return list
}
