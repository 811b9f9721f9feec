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
	typeVersion    valueType = "the number 1"
	typeLimit      valueType = "a number in the metric's unit"
	typePercent    valueType = "a percentage such as 2%"
	typeFloor      valueType = "a number in the metric's unit; bytes in all for a growth per step or hour"
	typeSeverity   valueType = "fail or warn"
	typeText       valueType = "text"
	typeMetric     valueType = "the name of a metric"
	typeTarget     valueType = "the name of a target"
	typeLoosen     valueType = "warn, fail or label:NAME"
	typeSide       valueType = "head or base"
	typeFramework  valueType = "torch, jax or tf"
	typeCapability valueType = "a version in quotes such as \"9.0\""
	typeNumber     valueType = "a whole number"
	typeBytes      valueType = "bytes with a unit"
	typeTime       valueType = "a time such as 60 s"
	typeShare      valueType = "a ratio below 1 such as 0.3"
	typeDate       valueType = "a date such as 2027-01-31"
	typePaths      valueType = "a path or a list of paths"
	typePatterns   valueType = "a path or a list of paths; globs and ** are allowed"
	typeBase       valueType = "a path or a list of paths; globs and ** are allowed; or the word run"
	typeCommand    valueType = "a list: a program and its arguments"
	typeNames      valueType = "a list of target names"
	typeSelector   valueType = "a mapping of labels to patterns; * and ? are wildcards"
	typeConditions valueType = "a mapping of environment keys to patterns; * and ? are wildcards"
	typeTargets    valueType = "a mapping of names to targets"
	typeBudgets    valueType = "a mapping of metrics to limits"
	typeDevices    valueType = "a mapping of names to devices"
	typeWaivers    valueType = "a list of waivers"
	typeMapping    valueType = "a mapping"
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
	{inFile, "defaults", typeMapping, true, false, "what targets and entries say where they do not say otherwise"},
	{inFile, "policy", typeMapping, true, false, "what the gate does where limits alone do not decide"},
	{inFile, "includes", typePaths, true, false, "further budget files, relative to this one"},
	{inFile, "targets", typeTargets, true, false, "the workloads; at least one in all files together"},
	{inFile, "devices", typeDevices, true, false, "limits for the sum of targets that share one device"},
	{inFile, "waivers", typeWaivers, true, false, "limits that are lifted until a date, each with its reason and owner"},

	{inDefaults, "severity", typeSeverity, true, false, "severity of entries that give none"},
	{inDefaults, "select", typeSelector, true, false, "labels for every entry; those of the target and of the entry win"},
	{inDefaults, "budgets", typeBudgets, true, false, "entries that every target has, but for the metrics that it names itself"},

	{inPolicy, "loosen", typeLoosen, true, false, "what a change that loosens a budget is; warn if not given. label:NAME is fail unless the pull request carries the label"},
	{inPolicy, "stale", typeSeverity, true, false, "what captures are that were not measured again; warn if not given. They are never ignored"},
	{inPolicy, "trust", typeSide, true, false, "whose budget decides; head if not given, and its changes are shown"},
	{inPolicy, "inconclusive", typeSeverity, true, false, "what a series is that decides nothing; warn if not given"},

	{inTarget, "captures", typePatterns, true, true, "where the captures are, relative to the file"},
	{inTarget, "base", typeBase, true, false, "what to compare with: captures or one measurement; run runs this target's run at the base commit too, in the same job"},
	{inTarget, "run", typeCommand, true, false, "run this in the folder of the file, under the watcher, and read its footprint and what it writes; then captures may be left out, and files older than its start do not count"},
	{inTarget, "dryrun", typeMapping, false, false, "run the program for a device that is not there; then captures may be left out"},
	{inTarget, "select", typeSelector, true, false, "judge only the rows with these labels"},
	{inTarget, "expect", typeMapping, true, false, "members that must be present, else there is no data"},
	{inTarget, "only_when", typeConditions, true, false, "compare only where the environment is like this, else it is not comparable, which is never a pass"},
	{inTarget, "warmup", typeMapping, true, false, "the beginning of a sampled series that does not count; if not given, 10 steps or a fifth of it, whichever is more"},
	{inTarget, "confirm", typeNumber, true, false, "runs that must agree before a row that is not exact is red: 2 is two of three; needs run"},
	{inTarget, "budgets", typeBudgets, true, false, "one entry a metric; may be left out where defaults has budgets"},

	{inDryrun, "framework", typeFramework, true, true, "what the program is written for"},
	{inDryrun, "memory", typeBytes, true, false, "memory of the device"},
	{inDryrun, "capability", typeCapability, true, false, "compute capability of the device"},

	{inExpect, "ranks", typeNumber, true, false, "number of ranks"},
	{inExpect, "hosts", typeNumber, true, false, "number of hosts"},
	{inExpect, "devices", typeNumber, true, false, "number of devices"},

	{inWarmup, "steps", typeNumber, true, false, "steps to leave out"},
	{inWarmup, "time", typeTime, true, false, "or time to leave out, of a series that has no steps"},
	{inWarmup, "fraction", typeShare, true, false, "or the part of the points to leave out"},

	{inEntry, "max", typeLimit, true, false, "largest value that passes"},
	{inEntry, "min", typeLimit, true, false, "smallest value that passes"},
	{inEntry, "growth", typePercent, true, false, "largest growth from base; 0% means not one byte more. Where higher is better it limits the fall"},
	{inEntry, "floor", typeFloor, true, false, "a change from base up to and including this much never fails"},
	{inEntry, "severity", typeSeverity, true, false, "what a broken limit does to the verdict; fail if not given"},
	{inEntry, "select", typeSelector, true, false, "judge only the rows with these labels; on top of the target's"},
	{inEntry, "why", typeText, true, false, "the reason for the number, for the reviewer"},
	{inEntry, "up_to", typeFloor, true, false, "growth in all that is allowed: a bounded cache may fill"},
	{inEntry, "horizon", typeNumber, true, false, "steps over which a growth is projected (if not given 1000, or the run's where they are more), or hours (24)"},

	{inDevice, "max", typeBytes, true, true, "largest sum"},
	{inDevice, "targets", typeNames, true, true, "the targets that are on the device at one time"},
	{inDevice, "metric", typeMetric, true, false, "what is added up, in bytes; " + DeviceMetric + " if not given. Of each target the largest row counts"},
	{inDevice, "select", typeSelector, true, false, "add up only the rows with these labels; on top of the target's"},
	{inDevice, "severity", typeSeverity, true, false, "what a broken limit does to the verdict; fail if not given"},
	{inDevice, "why", typeText, true, false, "the reason for the number, for the reviewer"},

	{inWaiver, "target", typeTarget, true, true, "whose limits are lifted"},
	{inWaiver, "metric", typeMetric, true, true, "which of its limits"},
	{inWaiver, "select", typeSelector, true, false, "lift them only for the rows with these labels"},
	{inWaiver, "max", typeLimit, true, false, "largest value that passes until then; required"},
	{inWaiver, "min", typeLimit, true, false, "the smallest, in place of max, where higher is better"},
	{inWaiver, "until", typeDate, true, true, "last day on which it holds"},
	{inWaiver, "reason", typeText, true, true, "why"},
	{inWaiver, "owner", typeText, true, true, "who brings the number back"},
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
var labelNames = []string{"module", "program", "memory_space", "device", "allocator", "pool", "series", "rank", "host", "file", "source", "step"}
