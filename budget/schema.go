package budget

import (
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/peakgate/peakgate/measure"
)

// SchemaURL is where the schema of the released language is, for the line
// "# yaml-language-server: $schema=…" at the top of a budget file.
const SchemaURL = "https://raw.githubusercontent.com/peakgate/peakgate/main/peakgate.schema.json"

// SchemaComment is that line, without a line break.
const SchemaComment = "# yaml-language-server: $schema=" + SchemaURL

// namePattern is what the schema asks of names that become file names and flags:
// no blank and no ASCII punctuation but _ and, inside, . and -. It is wider than
// Parse is beyond ASCII: not every validator knows the classes of Unicode.
const namePattern = `^[^\s\x00-/:-@\[-^\x60{-\x7f][^\s\x00-,/:-@\[-^\x60{-\x7f]*$`

// Schema gives a JSON Schema (draft 2020-12) of the language, for editors. It is
// made from the table of keys and the catalogue of metrics. It takes every file
// that Parse takes; what needs more than one value to judge (min above max, names
// of targets, what includes add) is left to Parse.
func Schema() []byte {
	defs := map[string]any{}
	for _, c := range contexts {
		if c.name != inFile && c.name != inEntry {
			defs[string(c.name)] = objectSchema(c.name, nil)
		}
	}
	for _, u := range units() {
		defs[unitName(u)] = limitSchema(u)
		defs["entry."+unitName(u)] = entrySchema(u, false)
		defs["entry.better."+unitName(u)] = entrySchema(u, true)
	}
	defs["selector"] = selectorSchema()
	defs["budgets"] = budgetsSchema()
	root := objectSchema(inFile, nil)
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["$id"] = SchemaURL
	root["title"] = "peakgate budget"
	root["$defs"] = defs
	out, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		panic("internal error: " + err.Error()) // maps of texts always marshal
	}
	return append(out, '\n')
}

// objectSchema is a mapping with the keys of a context; values overrides the
// schema of some.
func objectSchema(in context, values map[string]any) map[string]any {
	properties, required := map[string]any{}, []string{}
	for _, k := range legalKeys[in] {
		v, ok := values[k.name].(map[string]any)
		if !ok {
			v = valueSchema(k)
		}
		properties[k.name] = with(v, "description", k.doc)
		// What a run makes need not be named; Parse knows when.
		if k.required && !(in == inTarget && k.name == "captures") {
			required = append(required, k.name)
		}
	}
	out := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		out["required"] = required
	}
	switch in {
	case inTarget:
		out["anyOf"] = []any{requires("captures"), requires("run"), requires("dryrun")}
		jax := map[string]any{"properties": map[string]any{"dryrun": framework("jax")}}
		out["dependentSchemas"] = map[string]any{"dryrun": map[string]any{"not": requires("captures"), "if": jax, "then": map[string]any{"not": requires("run")}, "else": requires("run")}}
	case inDryrun:
		only := map[string]any{}
		for k, of := range dryrunOnly {
			only[k] = framework(of...)
		}
		out["dependentSchemas"] = only
		out["if"], out["then"] = framework("jax"), map[string]any{"required": []string{"device", "function"}}
	case inWaiver:
		out["oneOf"] = []any{requires("max"), requires("min")}
	case inWarmup:
		out["oneOf"] = []any{requires("steps"), requires("time"), requires("fraction")}
	case inExpect:
		out["minProperties"] = 1
	}
	return out
}

func requires(name string) map[string]any { return map[string]any{"required": []string{name}} }

// framework is a dry run of one of these.
func framework(names ...string) map[string]any {
	return map[string]any{"properties": map[string]any{"framework": words(names...)}}
}

func with(m map[string]any, key string, value any) map[string]any {
	out := map[string]any{key: value}
	for k, v := range m {
		out[k] = v
	}
	return out
}

func ref(name string) map[string]any { return map[string]any{"$ref": "#/$defs/" + name} }

func words(list ...string) map[string]any { return map[string]any{"enum": list} }

func textLike(pattern string) map[string]any {
	return map[string]any{"type": "string", "pattern": pattern}
}

// plainText is text with something in it.
var plainText = textLike(`\S`)

// oneOrMore is a value or a list of such values, without one twice.
func oneOrMore(item map[string]any) map[string]any {
	return map[string]any{"anyOf": []any{item, map[string]any{"type": "array", "items": item, "minItems": 1, "uniqueItems": true}}}
}

const (
	numberPattern = `[+-]?(\d(_?\d)*(\.(\d(_?\d)*)?)?|\.\d(_?\d)*)`
	blank         = `\s*`
)

// anyScalar is what YAML may take for a number although a text is meant.
var anyScalar = []string{"string", "number", "boolean"}

// valueSchema gives the schema of a key's value by its type.
func valueSchema(k key) map[string]any {
	switch k.value {
	case typeVersion:
		return map[string]any{"const": 1}
	case typeSeverity:
		return words("fail", "warn")
	case typeSide:
		return words("head", "base")
	case typeFramework:
		return words(frameworks...)
	case typeLoosen:
		return textLike(`^\s*(warn|fail|label:.*\S.*)\s*$`)
	case typeText:
		return map[string]any{"type": anyScalar, "pattern": `\S`}
	case typeTarget:
		return plainText
	case typeMetric:
		return words(metricNames(k.in == inDevice)...)
	case typeCapability:
		return textLike(`^\s*\d{1,3}\.\d{1,3}\s*$`)
	case typeAssume:
		return map[string]any{"enum": []any{0, 1, "0", "1"}}
	case typeDevice:
		return oneOrMore(textLike(DevicePattern))
	case typeFunction:
		return textLike(`^[^:\s]+:[^:\s]+$`)
	case typeNumber:
		return map[string]any{"type": []string{"integer", "string"}, "pattern": `^` + blank + numberPattern + blank + `$`,
			"minimum": numberRange[k.name][0], "maximum": numberRange[k.name][1]}
	case typeBytes:
		return ref(unitName(measure.ByteUnit))
	case typeShare:
		return with(ref(unitName(measure.Ratio)), "maximum", maxFraction)
	case typeTime:
		return ref(unitName(measure.Seconds))
	case typeDate:
		return textLike(`^\s*\d{4}-\d{2}-\d{2}\s*$`)
	case typePaths, typePatterns, typeBase:
		return oneOrMore(textLike(`^[^\\\x00-\x1f]+$`))
	case typeNames:
		return oneOrMore(plainText)
	case typeCommand:
		return map[string]any{"type": "array", "items": map[string]any{"type": anyScalar}, "minItems": 1}
	case typeSelector:
		return ref("selector")
	case typeConditions:
		return map[string]any{"type": "object", "minProperties": 1, "additionalProperties": map[string]any{"type": anyScalar, "minLength": 1}}
	case typeTargets:
		return namedSchema("target")
	case typeDevices:
		return namedSchema("device")
	case typeWaivers:
		return map[string]any{"type": "array", "items": ref("waiver")}
	case typeBudgets:
		return ref("budgets")
	case typeMapping:
		return ref(k.name)
	case typeLimit, typeFloor: // of a waiver: the metric is another value
		var list []any
		for _, u := range units() {
			list = append(list, ref(unitName(u)))
		}
		return map[string]any{"anyOf": list}
	}
	panic("internal error: no schema for the type " + string(k.value))
}

func namedSchema(of string) map[string]any {
	return map[string]any{"type": "object", "minProperties": 1, "additionalProperties": ref(of),
		"propertyNames": map[string]any{"pattern": namePattern, "maxLength": 100}}
}

func selectorSchema() map[string]any {
	properties := map[string]any{}
	for _, name := range labelNames {
		properties[name] = map[string]any{"type": anyScalar, "minLength": 1}
	}
	return map[string]any{"type": "object", "properties": properties, "additionalProperties": false, "minProperties": 1,
		"description": "labels and patterns; * and ? are wildcards"}
}

func budgetsSchema() map[string]any {
	properties := map[string]any{}
	for _, m := range judged() {
		name := "entry." + unitName(m.Unit)
		if m.HigherIsBetter {
			name = "entry.better." + unitName(m.Unit)
		}
		properties[m.Name] = with(ref(name), "description", m.Doc)
	}
	return map[string]any{"type": "object", "properties": properties, "additionalProperties": false, "minProperties": 1}
}

// entrySchema is what one metric of a unit takes: a mapping, or a max alone.
func entrySchema(unit measure.Unit, better bool) map[string]any {
	limit := ref(unitName(unit))
	values := map[string]any{"max": limit, "min": limit, "floor": ref(unitName(floorUnit(unit))), "up_to": ref(unitName(floorUnit(unit))),
		"growth": textLike(`^` + blank + strings.Replace(numberPattern, "[+-]", "[+]", 1) + blank + `%` + blank + `$`)}
	object := objectSchema(inEntry, values)
	properties := object["properties"].(map[string]any)
	limits := []any{requires("max"), requires("min")}
	if isSlope(unit) {
		delete(properties, "growth")
	} else {
		delete(properties, "up_to")
		delete(properties, "horizon")
		limits = append(limits, requires("growth"))
		object["dependentRequired"] = map[string]any{"floor": []string{"growth"}}
	}
	object["anyOf"] = limits
	if better {
		return object
	}
	return map[string]any{"anyOf": []any{limit, object}}
}

// limitSchema is a number in a unit, as the language writes it.
func limitSchema(unit measure.Unit) map[string]any {
	per := ""
	if _, name, ok := strings.Cut(string(unit), "/"); ok {
		per = `(\s*/\s*` + name + `)?`
	}
	start := `^` + blank + numberPattern + blank
	switch unit {
	case measure.ByteUnit, measure.BytesPerStep, measure.BytesPerHour:
		if unit == measure.ByteUnit {
			start = strings.Replace(start, "[+-]", "[+]", 1)
		}
		return with(textLike(start+`(B|KiB|MiB|GiB|TiB|PiB|kB|MB|GB|TB|PB)`+per+blank+`$`), "description", wanted(unit))
	case measure.Seconds:
		return with(textLike(start+`(ms|s|min|h)`+blank+`$`), "description", wanted(unit))
	}
	out := map[string]any{"type": []string{"number", "string"}, "pattern": start + per + blank + `$`, "description": wanted(unit)}
	if !isSlope(unit) {
		out["minimum"] = 0
	}
	switch unit {
	case measure.Ratio:
		out["maximum"] = 1
	case measure.Count:
		out["multipleOf"], out["maximum"] = 1, int64(math.MaxInt64)
	}
	return out
}

func unitName(u measure.Unit) string { return strings.ReplaceAll(string(u), "/", "_per_") }

// units gives the units of the metrics that are judged, and of their floors.
func units() []measure.Unit {
	var out []measure.Unit
	for _, m := range judged() {
		for _, u := range []measure.Unit{m.Unit, floorUnit(m.Unit)} {
			if !slices.Contains(out, u) {
				out = append(out, u)
			}
		}
	}
	return out
}

// judged gives the metrics that a budget may name.
func judged() []measure.Metric {
	return slices.DeleteFunc(measure.Catalogue(), func(m measure.Metric) bool { return m.Kind == measure.HighWater && m.Information })
}

// metricNames gives the names of those metrics; with sums, only what can be added
// up over targets.
func metricNames(sums bool) []string {
	var out []string
	for _, m := range judged() {
		if !sums || m.Unit == measure.ByteUnit && !m.HigherIsBetter {
			out = append(out, m.Name)
		}
	}
	return out
}
