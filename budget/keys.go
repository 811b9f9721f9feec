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
	typeAssume     valueType = "0 or 1"
	typeDevice     valueType = "a device such as h100 or v5e:2x2, or a list of them"
	typeFunction   valueType = "module:function"
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
	in       context
	name     string
	value    valueType
	required bool
	doc      string
}

// keys is the one table of the language: the reader, the documentation and every
// list of legal keys in a message are made from it.
var keys = []key{
	{inFile, "version", typeVersion, true, "version of the language"},
	{inFile, "defaults", typeMapping, false, "what targets and entries say where they do not say otherwise"},
	{inFile, "policy", typeMapping, false, "what the gate does where limits alone do not decide"},
	{inFile, "includes", typePaths, false, "further budget files, relative to this one"},
	{inFile, "targets", typeTargets, false, "the workloads; at least one in all files together"},
	{inFile, "devices", typeDevices, false, "limits for the sum of targets that share one device"},
	{inFile, "waivers", typeWaivers, false, "limits that are lifted until a date, each with its reason and owner"},

	{inDefaults, "severity", typeSeverity, false, "severity of entries that give none"},
	{inDefaults, "select", typeSelector, false, "labels for every entry; those of the target and of the entry win"},
	{inDefaults, "budgets", typeBudgets, false, "entries that every target has, but for the metrics that it names itself"},

	{inPolicy, "loosen", typeLoosen, false, "what a change that loosens a budget is; warn if not given. label:NAME is fail unless the pull request carries the label"},
	{inPolicy, "stale", typeSeverity, false, "what captures are that were not measured again; warn if not given. They are never ignored"},
	{inPolicy, "trust", typeSide, false, "whose budget decides; head if not given, and its changes are shown"},
	{inPolicy, "inconclusive", typeSeverity, false, "what a series is that decides nothing; warn if not given"},

	{inTarget, "captures", typePatterns, true, "where the captures are, relative to the file; not required beside run, nor allowed beside dryrun"},
	{inTarget, "base", typeBase, false, "what to compare with: captures or one measurement; run runs this target's run or dryrun at the base commit too, in the same job"},
	{inTarget, "run", typeCommand, false, "run this in the folder of the file, under the watcher, and read its footprint and what it writes; then captures may be left out, and files older than its start do not count"},
	{inTarget, "dryrun", typeMapping, false, "run the program (of run; of JAX the function) for a device that is not there, and read what it writes; in place of captures"},
	{inTarget, "select", typeSelector, false, "judge only the rows with these labels"},
	{inTarget, "expect", typeMapping, false, "members that must be present, else there is no data"},
	{inTarget, "only_when", typeConditions, false, "compare only where the environment is like this, else it is not comparable, which is never a pass"},
	{inTarget, "warmup", typeMapping, false, "the beginning of a sampled series that does not count; if not given, 10 steps or a fifth of it, whichever is more"},
	{inTarget, "confirm", typeNumber, false, "runs that must agree before a row that is not exact is red: 2 is two of three; needs run or dryrun"},
	{inTarget, "budgets", typeBudgets, false, "one entry a metric; may be left out where defaults has budgets"},

	{inDryrun, "framework", typeFramework, true, "what the program is written for"},
	{inDryrun, "memory", typeBytes, false, "memory of one device; torch and tf"},
	{inDryrun, "capability", typeCapability, false, "compute capability of the device; torch"},
	{inDryrun, "devices", typeNumber, false, "how many devices there are, 1 if not given; torch"},
	{inDryrun, "context", typeBytes, false, "what the driver holds of each device; torch"},
	{inDryrun, "assume", typeAssume, false, "the value that the program may read from the device, where values steer its memory; torch"},
	{inDryrun, "device", typeDevice, false, "the devices to compile for; jax, and required there"},
	{inDryrun, "function", typeFunction, false, "the function that gives the step and its arguments; jax, in place of run"},
	{inDryrun, "python", typeText, false, "the interpreter, python3 if not given, of the head for the base too; jax"},
	{inDryrun, "timeout", typeTime, false, "end a program that does not end"},

	{inExpect, "ranks", typeNumber, false, "number of ranks"},
	{inExpect, "hosts", typeNumber, false, "number of hosts"},
	{inExpect, "devices", typeNumber, false, "number of devices"},

	{inWarmup, "steps", typeNumber, false, "steps to leave out"},
	{inWarmup, "time", typeTime, false, "or time to leave out, of a series that has no steps"},
	{inWarmup, "fraction", typeShare, false, "or the part of the points to leave out"},

	{inEntry, "max", typeLimit, false, "largest value that passes"},
	{inEntry, "min", typeLimit, false, "smallest value that passes"},
	{inEntry, "growth", typePercent, false, "largest growth from base; 0% means not one byte more. Where higher is better it limits the fall"},
	{inEntry, "floor", typeFloor, false, "a change from base up to and including this much never fails"},
	{inEntry, "severity", typeSeverity, false, "what a broken limit does to the verdict; fail if not given"},
	{inEntry, "select", typeSelector, false, "judge only the rows with these labels; on top of the target's"},
	{inEntry, "why", typeText, false, "the reason for the number, for the reviewer"},
	{inEntry, "up_to", typeFloor, false, "growth in all that is allowed: a bounded cache may fill"},
	{inEntry, "horizon", typeNumber, false, "steps over which a growth is projected (if not given 1000, or the run's where they are more), or hours (24)"},

	{inDevice, "max", typeBytes, true, "largest sum"},
	{inDevice, "targets", typeNames, true, "the targets that are on the device at one time"},
	{inDevice, "metric", typeMetric, false, "what is added up, in bytes; " + DeviceMetric + " if not given. Of each target the largest row counts"},
	{inDevice, "select", typeSelector, false, "add up only the rows with these labels; on top of the target's"},
	{inDevice, "severity", typeSeverity, false, "what a broken limit does to the verdict; fail if not given"},
	{inDevice, "why", typeText, false, "the reason for the number, for the reviewer"},

	{inWaiver, "target", typeTarget, true, "whose limits are lifted"},
	{inWaiver, "metric", typeMetric, true, "which of its limits"},
	{inWaiver, "select", typeSelector, false, "lift them only for the rows with these labels"},
	{inWaiver, "max", typeLimit, false, "largest value that passes until then; required"},
	{inWaiver, "min", typeLimit, false, "the smallest, in place of max, where higher is better"},
	{inWaiver, "until", typeDate, true, "last day on which it holds"},
	{inWaiver, "reason", typeText, true, "why"},
	{inWaiver, "owner", typeText, true, "who brings the number back"},
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
