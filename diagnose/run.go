package diagnose

// runRules read what a run recorded beside the plan.
var runRules []Rule

// runtimeLimits gives the limits of the allocators that the run recorded.
func runtimeLimits(Input, *module) []limit { return nil }
