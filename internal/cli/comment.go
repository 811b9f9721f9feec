package cli

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/peakgate/peakgate/compare"
	"github.com/peakgate/peakgate/measure"
	"github.com/peakgate/peakgate/post"
	"github.com/peakgate/peakgate/report"
)

var commentCommand = command{
	name: "comment", args: "[RESULT.json]", summary: "show a result on its pull request, from a workflow that may write",
	about: `Renders a result that check wrote and keeps one comment of the pull request up to
date with it. The file may be a zip that holds result.json, as artifacts are. It
is taken for what anybody may have written: nothing in it is trusted or executed.

In a workflow_run workflow it first proves, by asking the server, that the
finished run was of the pull request's present head; with --artifact it fetches
there what that run uploaded, in place of a file. Elsewhere it comments on the
event's own pull request, or that of --pull.

  PEAKGATE_TOKEN or GITHUB_TOKEN   a token with pull-requests: write, and with
                                   actions: read for --artifact
  GITHUB_API_URL, GITHUB_REPOSITORY, GITHUB_EVENT_PATH, …   the runner sets them`,
	exits: `Exit codes: 0 posted, not needed or not permitted; 2 wrong use or a file that is
no result; 3 the server failed, or the run is not the pull request's. A run without
such an artifact is a warning. The verdict is not the exit code.`,
	setup: func(f *flag.FlagSet, s Streams) func([]string) (int, error) {
		p := posting{}
		f.StringVar(&p.comment, "comment", "always", "`when`: always, on-failure (and to turn a red comment green) or never")
		f.StringVar(&p.check, "check", "auto", "`what` to set on the commit: run (a check run), status, none, or auto: a status on Gitea and Forgejo")
		f.StringVar(&p.key, "key", "", "which comment: each `key` has one (the budget file's path)")
		f.StringVar(&p.author, "author", "", "the `login` whose comments are ours (ask the server)")
		f.IntVar(&p.pull, "pull", 0, "the `number` of the pull request, outside of a workflow")
		artifact := f.String("artifact", "", "the `name` of the artifact of the finished run, in place of a file")
		return func(args []string) (int, error) {
			if err := p.validate(); err != nil {
				return ExitUsage, err
			}
			switch {
			case *artifact != "" && len(args) > 0:
				return ExitUsage, usagef("comment: want --artifact or a RESULT.json, got both")
			case *artifact == "" && len(args) != 1:
				return ExitUsage, usagef("comment: want one RESULT.json, got %d arguments", len(args))
			case *artifact != "":
				return runComment(p, s, func(a *post.Actions) (*compare.Result, int) { return p.fetchResult(a, *artifact, s) })
			}
			return runComment(p, s, func(a *post.Actions) (*compare.Result, int) {
				r, err := readResult(args[0])
				return usable(a, r, err)
			})
		}
	},
}

// runComment posts the result that get gives; without one it ends with get's exit
// code.
func runComment(p posting, s Streams, get func(*post.Actions) (*compare.Result, int)) (int, error) {
	a := post.NewActions(s.Stdout, s.Getenv)
	a.Mask(s.Getenv("PEAKGATE_TOKEN"))
	a.Mask(s.Getenv("GITHUB_TOKEN"))
	r, code := get(a)
	if r != nil {
		relocate(r, s)
		code = showPosted(a, p.postResult(r, s)...)
	}
	return code, a.Close()
}

// usable shows what is wrong with a file that is no result.
func usable(a *post.Actions, r *compare.Result, err error) (*compare.Result, int) {
	if err != nil {
		report.Problem(a, err)
		a.Error(post.Annotation{Title: "peakgate", Message: err.Error()})
		return nil, ExitUsage
	}
	return r, ExitPass
}

// fetchResult reads an artifact of the run that the event is about.
func (p posting) fetchResult(a *post.Actions, name string, s Streams) (*compare.Result, int) {
	event, err := post.ReadEvent(s.Getenv)
	if err != nil {
		return nil, showPosted(a, posted{"no comment: the event cannot be read", err})
	}
	if event.Measured == nil {
		return nil, showPosted(a, posted{"no comment", fmt.Errorf("--artifact: expected an event workflow_run, found %.40q", event.Name)})
	}
	host, none := p.dial(s)
	if none != nil {
		return nil, showPosted(a, *none)
	}
	data, err := host.Artifact(context.Background(), event.Measured.Run, name, maxArtifact)
	switch {
	case errors.Is(err, post.ErrNoArtifact): // it was cancelled, or ended before it measured
		a.Warning(post.Annotation{Title: "peakgate", Message: "no comment: " + err.Error()})
		return nil, ExitPass
	case err != nil:
		return nil, showPosted(a, posted{"no comment", err})
	}
	r, err := unzipResult(bytes.NewReader(data), int64(len(data)), "artifact "+name)
	return usable(a, r, err)
}

// maxArtifact bounds what is kept of an artifact, which is compressed; a result is
// a few hundred KiB before that.
const maxArtifact = 16 << 20

// relocate lets links lead to this server and to the commit that the event names: the
// file could send readers anywhere.
func relocate(r *compare.Result, s Streams) {
	r.Head.FilesURL = ""
	event, err := post.ReadEvent(s.Getenv)
	if err != nil {
		return
	}
	commit := event.Commit
	switch {
	case event.Measured != nil:
		commit = event.Measured.Commit // post proves that it is the pull request's head
	case event.Pull == 0 && commit != r.Head.Commit:
		return // the result is of another commit than this run
	}
	r.Head.FilesURL = filesURL(commit, s)
}

// showPosted tells in one line what became of each post.
func showPosted(a *post.Actions, all ...posted) int {
	code := ExitPass
	for _, done := range all {
		if done.err == nil {
			fmt.Fprintf(a, "%s\n", done.line)
			continue
		}
		a.Warning(post.Annotation{Title: "peakgate", Message: done.line + ": " + done.err.Error()})
		code = ExitNoData
	}
	return code
}

// resultName is the one file that is read of an artifact.
const resultName = "result.json"

// readResult reads a result, or the one in a zip.
func readResult(path string) (*compare.Result, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, cause(err))
	}
	defer f.Close()
	head := make([]byte, 4)
	n, _ := io.ReadFull(f, head)
	if !bytes.Equal(head[:n], []byte("PK\x03\x04")) {
		return compare.Decode(io.MultiReader(bytes.NewReader(head[:n]), f), path)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, cause(err))
	}
	if info.Size() > compare.MaxDocument {
		return nil, fmt.Errorf("%s: expected a zip of at most %s, found %s", path, measure.Bytes(compare.MaxDocument), measure.Bytes(info.Size()))
	}
	return unzipResult(f, info.Size(), path)
}

// unzipResult reads the one file of a zip that matters. Nothing is unpacked: other
// names, links and folders are only passed over.
func unzipResult(f io.ReaderAt, size int64, path string) (*compare.Result, error) {
	archive, err := zip.NewReader(f, size)
	if err != nil {
		return nil, fmt.Errorf("%s: expected a zip: %w", path, err)
	}
	for _, e := range archive.File {
		if e.Name != resultName || !e.Mode().IsRegular() {
			continue
		}
		r, err := e.Open()
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", path, resultName, err)
		}
		defer r.Close()
		return compare.Decode(r, path+": "+resultName)
	}
	return nil, fmt.Errorf("%s: expected a zip that holds %s, found %s without it", path, resultName, strconv.Itoa(len(archive.File))+" files")
}
