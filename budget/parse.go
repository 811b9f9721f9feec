package budget

// Parse reads a budget file; the name is for messages only. The error is of the
// type Errors and holds every fault of the file; the File is then nil.
func Parse(data []byte, file string) (*File, error) { panic("internal error: not written yet") }
