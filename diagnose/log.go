package diagnose

// LogFact is one line of a log that tells of memory.
type LogFact struct{}

var logRules []Rule
