package diagnose

var (
	xlaRules     []Rule
	xlaPairRules []Rule
	runRules     []Rule
)
