package proc

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// Key names one process for ever: a pid is used again, a pid with its start time
// is not.
type Key struct {
	PID   int
	Start uint64
}

// Member is one process of a tree.
type Member struct {
	Key
	PPID int
	Comm string
	// Outside tells that the process ran before the watch and is only looked at.
	Outside bool

	// RSS is of the last tick. HighWater is the largest VmHWM that was read.
	RSS       int64
	HighWater int64
	// Status is the last one read, and Fresh tells that it is of this tick.
	Status Status
	Fresh  bool
	// Rolled is the last smaps_rollup and FileThen VmRSS's file part at that time;
	// nil where none was read.
	Rolled   *Rollup
	FileThen int64

	statm *os.File
	// thread is read instead of the first thread once that has ended; else 0.
	thread int
}

// reads is the id whose files tell of the member's memory.
func (m *Member) reads() int {
	if m.thread != 0 {
		return m.thread
	}
	return m.PID
}

// Tree follows a process and all that it starts. Members stay until they end,
// whoever their parent is then; a pid that is used again is a new member.
type Tree struct {
	fs      FS
	loadavg *os.File
	// self is the watcher: what is reparented to it is a member. Others of its
	// children are not, where skip says so.
	self    int
	skip    func(pid int) bool
	members map[int]*Member

	lastPID, ticks int
	walk           bool // something changed that the last pid does not tell
	noChildren     bool // the kernel does not list children
}

// walkEvery is how many ticks pass at most between two walks over the children:
// a process that is moved under another (reparented) takes no new pid.
const walkEvery = 50

// NewTree gives a tree whose members descend from the process self, which is none.
func NewTree(fs FS, self int, skip func(pid int) bool) *Tree {
	t := &Tree{fs: fs, self: self, skip: skip, members: map[int]*Member{}, walk: true}
	t.loadavg, _ = os.Open(filepath.Join(fs.root, "loadavg")) // without it, every tick walks
	return t
}

// Close gives the descriptors back.
func (t *Tree) Close() {
	for _, m := range t.members {
		m.statm.Close()
	}
	if t.loadavg != nil {
		t.loadavg.Close()
	}
}

// Members gives the living members by pid.
func (t *Tree) Members() []*Member {
	list := slices.Collect(maps.Values(t.members))
	slices.SortFunc(list, func(a, b *Member) int { return a.PID - b.PID })
	return list
}

// Get gives a living member.
func (t *Tree) Get(pid int) *Member { return t.members[pid] }

// Add makes a process a member; nil if it is gone or one already.
func (t *Tree) Add(pid int, outside bool) *Member {
	if t.members[pid] != nil {
		return nil
	}
	stat, err := t.fs.Stat(pid)
	if err != nil {
		return nil
	}
	f, err := t.fs.OpenStatm(pid)
	if err != nil {
		return nil
	}
	m := &Member{Key: Key{pid, stat.Start}, PPID: stat.PPID, Comm: stat.Comm, Outside: outside, statm: f}
	t.members[pid] = m
	return m
}

// Remove takes a member out that has ended.
func (t *Tree) Remove(m *Member) {
	if t.members[m.PID] == m {
		delete(t.members, m.PID)
		m.statm.Close()
		t.walk = true // its pid may be used again, its children are reparented
	}
}

// Tick reads each member's RSS, looks for new processes where there may be some,
// and gives those that came and those that went. A zombie stays, with RSS 0.
func (t *Tree) Tick() (came, went []*Member) {
	for _, m := range t.members {
		m.Fresh = false
		if !t.readRSS(m) {
			went = append(went, m)
		}
	}
	for _, m := range went {
		t.Remove(m)
	}
	t.ticks++
	if t.changed() || t.walk || t.ticks%walkEvery == 0 {
		t.walk = false
		came = t.find()
	}
	return came, went
}

// changed tells whether a process was born since the last call.
func (t *Tree) changed() bool {
	if t.loadavg == nil {
		return true
	}
	last, err := t.fs.LastPID(t.loadavg)
	if err != nil || last != t.lastPID {
		t.lastPID = last
		return true
	}
	return false
}

// readRSS is false for a member that has ended.
func (t *Tree) readRSS(m *Member) bool {
	rss, err := t.fs.Statm(m.statm)
	if err != nil && m.thread != 0 {
		m.statm.Close() // this thread ended too: look for another below
		if m.statm, err = t.fs.OpenStatm(m.PID); err == nil {
			m.thread = 0
			rss, err = t.fs.Statm(m.statm)
		}
	}
	if err != nil {
		return false
	}
	m.RSS = rss
	if rss == 0 {
		t.deadLeader(m)
	}
	return true
}

// deadLeader looks for a living thread of a process whose first thread has ended
// (pthread_exit in main): the process's own files are empty then, its threads' are
// not. /proc/TID is there for a thread, though no folder lists it.
func (t *Tree) deadLeader(m *Member) {
	stat, err := t.fs.Stat(m.PID)
	if err != nil || stat.State != 'Z' || stat.Threads <= 1 {
		return
	}
	threads, _ := t.fs.Threads(m.PID)
	for _, tid := range threads {
		if tid == m.PID {
			continue
		}
		f, err := t.fs.OpenStatm(tid)
		if err != nil {
			continue
		}
		if rss, err := t.fs.Statm(f); err == nil && rss > 0 {
			m.statm.Close()
			m.statm, m.thread, m.RSS = f, tid, rss
			return
		}
		f.Close()
	}
}

// find walks from the watcher and from each member down to what is not known yet.
func (t *Tree) find() (came []*Member) {
	var children func(int) []int
	if !t.noChildren {
		if _, err := t.fs.Children(t.self); err != nil {
			t.noChildren = true
		}
	}
	if t.noChildren {
		all, _ := t.fs.Parents()
		children = func(pid int) []int { return all[pid] }
	} else {
		children = func(pid int) []int { list, _ := t.fs.Children(pid); return list }
	}
	queue := []int{t.self}
	for pid := range t.members {
		queue = append(queue, pid)
	}
	for len(queue) > 0 {
		pid := queue[0]
		queue = queue[1:]
		for _, child := range children(pid) {
			if pid == t.self && t.skip != nil && t.skip(child) {
				continue
			}
			if m := t.Add(child, pid != t.self && t.members[pid] != nil && t.members[pid].Outside); m != nil {
				t.readRSS(m)
				came = append(came, m)
				queue = append(queue, child)
			}
		}
	}
	return came
}

// ReadStatus reads a member's status; false where it has none any more.
func (t *Tree) ReadStatus(m *Member) bool {
	if m.Fresh {
		return true
	}
	s, err := t.fs.Status(m.reads())
	if err != nil || !s.Memory {
		return false
	}
	m.Status, m.Fresh = s, true
	if m.thread == 0 {
		m.Comm = s.Name
	}
	m.HighWater = max(m.HighWater, s.HighWater)
	return true
}

// ReadRollup reads a member's smaps_rollup, after its status.
func (t *Tree) ReadRollup(m *Member) error {
	r, err := t.fs.Rollup(m.reads())
	if err != nil {
		return err
	}
	m.Rolled, m.FileThen = &r, m.Status.File
	return nil
}

// Descriptors counts a member's open descriptors.
func (t *Tree) Descriptors(m *Member) (int64, error) { return t.fs.Descriptors(m.reads()) }
