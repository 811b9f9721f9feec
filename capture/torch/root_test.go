package torch

import "testing"

// Files that have no folder in common, of two systems say, must not be searched
// for one without end.
func TestRootOfUnrelatedFiles(t *testing.T) {
	for _, files := range [][]string{
		{"/home/a/model.py", "C:/Users/b/train.py"},
		{"C:/Users/b/train.py", "/home/a/model.py"},
		{"C:/a.py", "D:/b.py"},
		{"/a.py", "/home/b.py"},
		{"/home/alice/m.py", "/home/bob/t.py"},
		{"/Users/alice/m.py", "/Users/bob/t.py"},
	} {
		s := &sites{}
		for _, f := range files {
			s.files, s.owners = append(s.files, f), append(s.owners, project)
		}
		if root := s.root(""); root != "" {
			t.Errorf("%q: root %q, want none", files, root)
		}
	}
	if got := shown("/home/alice/m.py", project, ""); got != "/home/alice/m.py" {
		t.Errorf("without a root a file is %q", got)
	}
	s := &sites{files: []string{"/home/a/x/m.py", "/home/a/y/t.py"}, owners: []owner{project, project}}
	if root := s.root(""); root != "/home/a" {
		t.Errorf("root %q", root)
	}
}
