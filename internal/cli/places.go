package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/peakgate/peakgate/base"
	"github.com/peakgate/peakgate/compare"
	"github.com/peakgate/peakgate/post"
)

// maxPlaced is how many files of source are looked up in git.
const maxPlaced = 100

// places finds which contributors of checks that do not hold come from files of the
// repository, and which from lines that the change shows. It only helps a reader:
// where git cannot tell, nothing is said.
func (b *bases) places(results []compare.TargetResult) {
	if b.repo == nil {
		return
	}
	var all []*compare.Contributor
	var files []string
	for i := range results {
		for j := range results[i].Checks {
			c := &results[i].Checks[j]
			for k := range c.Contributors {
				if s := c.Contributors[k].Source; c.Verdict != compare.Pass && s != nil {
					all = append(all, &c.Contributors[k])
					if len(files) < maxPlaced && !slices.Contains(files, s.File) {
						files = append(files, s.File)
					}
				}
			}
		}
	}
	held, err := b.repo.Tracked(files)
	if err != nil {
		return
	}
	shown := map[string][]base.Lines{}
	if change := b.at(""); change.err == nil && change.tree != nil {
		for _, f := range files {
			if held[f] {
				shown[f], _ = change.tree.Shown(f)
			}
		}
	}
	for _, c := range all {
		if !held[c.Source.File] {
			continue
		}
		c.Place = compare.InRepository
		if slices.ContainsFunc(shown[c.Source.File], func(l base.Lines) bool { return l.From <= c.Source.Line && c.Source.Line <= l.To }) {
			c.Place = compare.InChange
		}
	}
}

// located says where a reader finds the head: the pull request, the address of its
// files, and what the budget's paths are relative to.
func located(head compare.Revision, root string, s Streams) compare.Revision {
	if s.Getenv("GITHUB_ACTIONS") != "true" {
		return head
	}
	event, err := post.ReadEvent(s.Getenv)
	if err != nil {
		return head
	}
	head.PullRequest = event.Pull
	folder, ok := fromTop(root)
	if ok {
		head.FilesURL, head.Folder = filesURL(event.Commit, s), folder
	}
	return head
}

// fromTop gives the way from a folder to the working directory, with slashes.
func fromTop(root string) (string, bool) {
	wd, err := os.Getwd()
	if root == "" || err != nil {
		return "", false
	}
	rel, err := filepath.Rel(root, wd)
	if err != nil || !filepath.IsLocal(rel) {
		return "", false
	}
	if rel == "." {
		rel = ""
	}
	return filepath.ToSlash(rel), true
}

// filesURL is the address of the files of a commit on the server of this workflow;
// empty where the runner does not say which that is.
func filesURL(commit string, s Streams) string {
	server, repository := s.Getenv("GITHUB_SERVER_URL"), s.Getenv("GITHUB_REPOSITORY")
	if server == "" || repository == "" || commit == "" {
		return ""
	}
	view := "/blob/"
	if strings.HasSuffix(strings.TrimSuffix(s.Getenv("GITHUB_API_URL"), "/"), "/api/v1") { // Gitea, Forgejo
		view = "/src/commit/"
	}
	return strings.TrimSuffix(server, "/") + "/" + repository + view + commit + "/"
}
