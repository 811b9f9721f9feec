package budget

// context names a kind of mapping of the language: which keys are legal in it.
type context string

const (
	inFile     context = "file"
	inDefaults context = "defaults"
	inPolicy   context = "policy"
	inTarget   context = "target"
	inDryrun   context = "dryrun"
	inExpect   context = "expect"
	inWarmup   context = "warmup"
	inEntry    context = "entry"
	inDevice   context = "device"
	inWaiver   context = "waiver"
)

// contexts gives the order of the documentation and says where each mapping is.
var contexts = []struct {
	name  context
	where string
}{
	{inFile, "the file itself"},
	{inDefaults, "`defaults`"},
	{inPolicy, "`policy`"},
	{inTarget, "each member of `targets`"},
	{inDryrun, "`dryrun` of a target"},
	{inExpect, "`expect` of a target"},
	{inWarmup, "`warmup` of a target"},
	{inEntry, "each member of `budgets`: the name of a metric, then this mapping, or the short form `METRIC: LIMIT`, which means `max`"},
	{inDevice, "each member of `devices`"},
	{inWaiver, "each element of `waivers`"},
}

// valueType says what a key's value looks like. The text is for people.
type valueType string

const (
	typeVersion  valueType = "the number 1"
	typeLimit    valueType = "a number in the metric's unit"
	typePercent  valueType = "a percentage such as 2%"
	typeFloor    valueType = "a number in the metric's unit; bytes in all for a growth per step or hour"
	typeSeverity valueType = "fail or warn"
	typeText     valueType = "text"
	typeChoice   valueType = "a word"
	typeNumber   valueType = "a whole number"
	typeBytes    valueType = "bytes with a unit"
	typeDate     valueType = "a date such as 2027-01-31"
	typePatterns valueType = "a path or a list of paths; globs and ** are allowed"
	typeCommand  valueType = "a list: a program and its arguments"
	typeNames    valueType = "a list of target names"
	typeSelector valueType = "a mapping of labels to patterns; * and ? are wildcards"
	typeTargets  valueType = "a mapping of names to targets"
	typeBudgets  valueType = "a mapping of metrics to limits"
	typeDevices  valueType = "a mapping of names to devices"
	typeWaivers  valueType = "a list of waivers"
	typeMapping  valueType = "a mapping"
)

// key is one key of the language.
type key struct {
	in        context
	name      string
	value     valueType
	supported bool // else the key is known, and refused with a clear word
	required  bool
	doc       string
}

// keys is the one table of the language: the reader, the documentation and every
// list of legal keys in a message are made from it.
var keys = []key{
	{inFile, "version", typeVersion, true, true, "version of the language"},
	{inFile, "defaults", typeMapping, false, false, "what targets and entries say where they do not say otherwise"},
	{inFile, "policy", typeMapping, false, false, "what the gate does about loosened budgets, stale captures and inconclusive series"},
	{inFile, "includes", typePatterns, false, false, "further budget files, relative to this one"},
	{inFile, "targets", typeTargets, true, true, "the workloads, at least one"},
	{inFile, "devices", typeDevices, false, false, "limits for the sum of targets that share one device"},
	{inFile, "waivers", typeWaivers, false, false, "limits that are lifted until a date, each with its reason and owner"},

	{inDefaults, "severity", typeSeverity, false, false, "severity of entries that give none"},
	{inDefaults, "budgets", typeBudgets, false, false, "entries that every target has"},

	{inPolicy, "loosen", typeChoice, false, false, "what a change that loosens a budget is: warn or fail"},
	{inPolicy, "stale", typeChoice, false, false, "what captures are that were not measured again: warn or fail"},
	{inPolicy, "trust", typeChoice, false, false, "whose budget decides: head or base"},
	{inPolicy, "inconclusive", typeChoice, false, false, "what a series is that decides nothing: warn or fail"},

	{inTarget, "captures", typePatterns, true, true, "where the captures are, relative to the budget file"},
	{inTarget, "base", typePatterns, true, false, "what to compare with: captures or one measurement"},
	{inTarget, "run", typeCommand, false, false, "run this under the watcher to make the captures"},
	{inTarget, "dryrun", typeMapping, false, false, "run the program for a device that is not there"},
	{inTarget, "select", typeSelector, true, false, "judge only the rows with these labels"},
	{inTarget, "expect", typeMapping, false, false, "members that must be present"},
	{inTarget, "only_when", typeSelector, false, false, "compare only where the environment is like this"},
	{inTarget, "warmup", typeMapping, false, false, "the beginning of a series that does not count"},
	{inTarget, "confirm", typeNumber, false, false, "runs that must agree before a verdict is red"},
	{inTarget, "budgets", typeBudgets, true, true, "one entry a metric, at least one"},

	{inDryrun, "framework", typeChoice, false, false, "torch, jax or tf"},
	{inDryrun, "memory", typeBytes, false, false, "memory of the device"},
	{inDryrun, "capability", typeText, false, false, "compute capability of the device"},

	{inExpect, "ranks", typeNumber, false, false, "number of ranks"},

	{inWarmup, "steps", typeNumber, false, false, "steps to leave out"},

	{inEntry, "max", typeLimit, true, false, "largest value that passes"},
	{inEntry, "min", typeLimit, true, false, "smallest value that passes"},
	{inEntry, "growth", typePercent, true, false, "largest growth from base; 0% means not one byte more. Where higher is better it limits the fall"},
	{inEntry, "floor", typeFloor, true, false, "a change from base up to and including this much never fails"},
	{inEntry, "severity", typeSeverity, true, false, "what a broken limit does to the verdict; fail if not given"},
	{inEntry, "select", typeSelector, true, false, "judge only the rows with these labels; on top of the target's"},
	{inEntry, "why", typeText, true, false, "the reason for the number, for the reviewer"},
	{inEntry, "up_to", typeBytes, false, false, "growth in all that is allowed: a bounded cache may fill"},
	{inEntry, "horizon", typeNumber, false, false, "steps over which a growth is projected"},

	{inDevice, "max", typeBytes, false, false, "largest sum"},
	{inDevice, "targets", typeNames, false, false, "the targets that share the device"},

	{inWaiver, "target", typeText, false, false, "name of the target"},
	{inWaiver, "metric", typeText, false, false, "name of the metric"},
	{inWaiver, "max", typeLimit, false, false, "largest value that passes until then"},
	{inWaiver, "until", typeDate, false, false, "last day"},
	{inWaiver, "reason", typeText, false, false, "why"},
	{inWaiver, "owner", typeText, false, false, "who brings it back"},
}

// legalKeys and legalNames give the keys of each mapping, in the table's order.
var legalKeys, legalNames = func() (map[context][]key, map[context][]string) {
	byContext, names := map[context][]key{}, map[context][]string{}
	for _, k := range keys {
		byContext[k.in] = append(byContext[k.in], k)
		names[k.in] = append(names[k.in], k.name)
	}
	return byContext, names
}()

// labelNames lists the labels that rows carry (measure.Labels).
var labelNames = []string{"module", "program", "memory_space", "device", "allocator", "pool", "series", "rank", "host", "file"}
