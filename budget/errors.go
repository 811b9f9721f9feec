package budget

// Error is one fault of a budget file.
type Error struct {
	File    string
	Line    int    // from 1
	Column  int    // from 1, in runes
	Path    string // the keys that lead to the place; empty for the file itself
	Message string // what was found, and what is wanted
	Hint    string // what to do; may be empty
	Rule    string // a name that docs/budget.md explains
}

// Error gives the one line for people and for editors.
func (e *Error) Error() string { return e.Message }

// Errors are all faults of a file, in the order of their places.
type Errors []*Error

func (es Errors) Error() string { return "" }

// Render gives each error with the line of the source that it is about and a caret
// under the place, for a terminal.
func (es Errors) Render(data []byte) string { return "" }
