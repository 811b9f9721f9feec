package budget

// rule is the name of a kind of fault, as it stands in brackets after a message.
type rule struct {
	name, doc string
	example   string // a file that has the fault; nothing where that would be too large
}

// rules lists every rule. The documentation shows what Parse says of the examples.
var rules = []rule{
	{"alias", "An alias has no anchor, leads into itself, or the aliases of the file multiply to too many values; or `<<` merges what is no mapping.",
		"version: 1\ntargets:\n  train: *train\n"},
	{"choice", "The value is one of a few words.",
		oneEntry + "{ max: 1 GiB, severity: error }\n"},
	{"date", "A date is YYYY-MM-DD, and a day of the calendar.",
		waived("target: train, metric: plan.need_bytes, max: 2 GiB, until: 2027-02-30, reason: remat is off, owner: perf")},
	{"document", "The file is not one YAML mapping: it is empty, has another form, or holds a second document.",
		"- version: 1\n"},
	{"duplicate", "A key or a path is given twice. YAML readers differ in which one counts.",
		oneEntry + "{ max: 1 GiB, max: 2 GiB }\n"},
	{"encoding", "The file is not UTF-8, or holds a character that YAML forbids or that YAML but no editor takes for a line break.",
		"version: 1 # caf\xe9\n"},
	{"include", "A file that is included cannot be read, includes itself, or is one too many.",
		"version: 1\nincludes: ../shared.yml\ntargets:\n  train: { captures: train.xplane.pb, budgets: { plan.need_bytes: 1 GiB } }\n"},
	{"key", "The key is not one of the language, or not legal in this place, or is no text.",
		oneEntry + "{ maxx: 1 GiB }\n"},
	{"label", "Rows carry no label of this name.",
		oneEntry + "{ max: 1 GiB, select: { modul: jit_step } }\n"},
	{"limit", "The entry limits nothing, or a limit does not go with the metric or with the other keys.",
		oneEntry + "{ severity: warn }\n"},
	{"many", "The file has more errors than are kept. The first ones are shown.", ""},
	{"metric", "The catalogue has no metric of this name, or it is one that is never judged.",
		"version: 1\ntargets:\n  train:\n    captures: train.xplane.pb\n    budgets:\n      plan.need_byte: 1 GiB\n"},
	{"missing", "A key or a value that must be there is not.",
		"version: 1\ntargets:\n  train:\n    captures: train.xplane.pb\n"},
	{"name", "The name of a target is part of file names and of flags.",
		"version: 1\ntargets:\n  train/step: { captures: train.xplane.pb, budgets: { plan.need_bytes: 1 GiB } }\n"},
	{"nesting", "Mappings and lists are deeper inside each other than any budget needs.", ""},
	{"number", "The value is not a plain decimal number. Exponents, NaN and infinity are refused.",
		oneEntry + "{ max: .inf }\n"},
	{"pattern", "The path or glob is malformed.",
		"version: 1\ntargets:\n  train:\n    captures: runs/**.xplane.pb\n    budgets: { plan.need_bytes: 1 GiB }\n"},
	{"percent", "A growth is a percentage with its sign.",
		oneEntry + "{ growth: 0.02 }\n"},
	{"range", "No row can have such a value, or min is above max.",
		oneEntry + "{ max: -1 GiB }\n"},
	{"size", "The file is larger than a budget file may be.", ""},
	{"syntax", "The file is not YAML.",
		"version: 1\ntargets:\n\ttrain:\n"},
	{"tag", "YAML's explicit tags are not part of the language.",
		oneEntry + "{ max: !!str 1 GiB }\n"},
	{"target", "A device or a waiver names a target that there is not, or a metric that it has no budget of.",
		waived("target: trian, metric: plan.need_bytes, max: 2 GiB, until: 2027-01-31, reason: remat is off, owner: perf")},
	{"type", "The value has another form: a list where a text is wanted, and the like.",
		oneEntry + "{ max: [1 GiB] }\n"},
	{"unit", "Bytes and times carry their unit; ratios and counts have none.",
		oneEntry + "{ max: 12 }\n"},
	{"version", "The file is of another version of the language.",
		"version: 2\n"},
}

// oneEntry is a file up to its one entry.
const oneEntry = "version: 1\ntargets:\n  train:\n    captures: train.xplane.pb\n    budgets:\n      plan.need_bytes: "

// waived is a file with one waiver.
func waived(waiver string) string {
	return oneEntry + "1 GiB\nwaivers:\n  - { " + waiver + " }\n"
}

func ruleOf(name string) *rule {
	for i := range rules {
		if rules[i].name == name {
			return &rules[i]
		}
	}
	return nil
}
