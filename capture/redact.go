package capture

import (
	"fmt"
	"reflect"
	"regexp"

	"github.com/peakgate/peakgate/measure"
)

// The folder of a user at the start of a path. "/home/" inside a path of the
// project (src/home/page.py) is none. Where the whole text is a path, the name
// may have blanks.
var (
	homePath   = regexp.MustCompile(`^(?:/home|/Users|[A-Za-z]:[\\/]Users)[\\/][^\\/]+([\\/])`)
	homeFolder = regexp.MustCompile(`(^|[\s"'(=,;|])(?:/home|/Users|[A-Za-z]:[\\/]Users)[\\/][^\\/\s"']+($|[\\/\s"'),;:|])`)
)

// Redact takes the names of users out of all paths in a measurement: what is
// below a user's folder begins with "~".
func Redact(m *measure.Measurement) {
	redact(reflect.ValueOf(m).Elem())
	type id struct{ row, key string }
	seen := map[id]int{}
	for i := range m.Contributors {
		c := &m.Contributors[i]
		k := id{c.Metric + "\x00" + c.Labels.Key(), c.Key}
		if seen[k]++; seen[k] > 1 { // two users' files of one name
			c.Key += fmt.Sprintf(" (user %d)", seen[k])
		}
	}
}

// RedactAll takes the names of users out of all paths in what v points to: a result
// or comparison, with what was added to the measurements that it is made of.
func RedactAll(v any) { redact(reflect.ValueOf(v)) }

// RedactText takes the names of users out of the paths in a text.
func RedactText(s string) string { return withoutUser(s) }

// redact goes through every string of a value; a measurement is a tree.
func redact(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if v.CanSet() {
			v.SetString(withoutUser(v.String()))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			redact(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			redact(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			redact(v.Field(i))
		}
	case reflect.Map:
		if v.CanInterface() && v.Type().Elem().Kind() == reflect.String {
			for _, k := range v.MapKeys() {
				v.SetMapIndex(k, reflect.ValueOf(withoutUser(v.MapIndex(k).String())).Convert(v.Type().Elem()))
			}
		}
	}
}

func withoutUser(s string) string {
	return homeFolder.ReplaceAllString(homePath.ReplaceAllString(s, "~$1"), "$1~$2")
}
