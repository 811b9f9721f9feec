package report

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/peakgate/peakgate/compare"
	"github.com/peakgate/peakgate/measure"
)

// address is what a link may begin with: a server's own pages over HTTP, without a
// user, a query or anything that ends a link in markdown.
var address = regexp.MustCompile(`^https?://[A-Za-z0-9.-]+(:[0-9]{1,5})?(/[A-Za-z0-9._~-]+)+/$`)

const maxAddress = 500

// linked is markdown text that leads to a line of a file of the head, or the text
// alone where the file has no page. name is from the repository's top.
func linked(r *compare.Result, text, name string, line int) string {
	base := r.Head.FilesURL
	if len(base) > maxAddress || !address.MatchString(base) || len(name) > maxAddress || !local(name) {
		return text
	}
	url := base + escapePath(name)
	if line > 0 {
		url += fmt.Sprintf("#L%d", line)
	}
	return "[" + text + "](" + url + ")"
}

// local tells whether a path with slashes stays below where it begins.
func local(name string) bool {
	return name != "" && name != "." && path.Clean(name) == name && !path.IsAbs(name) && name != ".." && !strings.HasPrefix(name, "../")
}

// escapePath leaves only what no markdown and no URL takes for anything else.
func escapePath(name string) string {
	var out strings.Builder
	for i := range len(name) {
		switch c := name[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-._/", c) >= 0:
			out.WriteByte(c)
		default:
			fmt.Fprintf(&out, "%%%02X", c)
		}
	}
	return out.String()
}

// budgetFile is the budget file from the repository's top, where a reader of a page
// stands: the working directory of the job is not theirs.
func budgetFile(r *compare.Result) string {
	if name := path.Join(r.Head.Folder, r.Config); r.Head.Folder != "" && !path.IsAbs(r.Config) && local(name) {
		return name
	}
	return r.Config
}

// budgetLink is text that leads to a place in the budget. What lies in the base
// ("peakgate.yml@1a2b3c4") is no file of the head.
func budgetLink(r *compare.Result, text, file string, line int) string {
	if file == "" || path.IsAbs(file) || strings.Contains(file, "@") {
		return text
	}
	return linked(r, text, path.Join(r.Head.Folder, file), line)
}

// sourceLink is text that leads to the line that allocates, if that is in the
// repository.
func sourceLink(r *compare.Result, text string, source *measure.Source, place compare.Place) string {
	if source == nil || place == "" {
		return text
	}
	return linked(r, text, source.File, source.Line)
}
