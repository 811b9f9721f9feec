package post

import (
	"strings"
	"testing"
)

// TestDescription: the description was there and judged what we send.
func TestDescription(t *testing.T) {
	f := newFake(t)
	if f.Judged() == nil {
		t.Skip("PEAKGATE_OPENAPI is not set: requests are not held against GitHub's description of its API (.ci/run does)")
	}
	f.Pulls[7] = map[string]any{}
	f.Run = map[string]any{}
	h := f.host(t)
	ctx := t.Context()
	c, err := h.Create(ctx, 7, "text")
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		h.Edit(ctx, c.ID, "other"), h.Delete(ctx, c.ID),
		h.SetStatus(ctx, strings.Repeat("a", 40), Status{Context: "peakgate", State: "failure", Description: strings.Repeat("x", 500), URL: "https://github.test/run"}),
		h.Check(ctx, CheckRun{Name: "peakgate", Commit: strings.Repeat("a", 40), Conclusion: "failure", Title: strings.Repeat("t", 500), Summary: strings.Repeat("s", 80_000), URL: "https://github.test/run",
			Marks: marks(120)}),
	} {
		if err == nil {
			continue
		}
		t.Error(err)
	}
	h.Comments(ctx, 7)
	h.Prove(ctx, Measured{Run: Run{1, 1}}, 7)
	f.Artifacts = map[string][]byte{"peakgate": []byte("PK")}
	if _, err := h.Artifact(ctx, Run{1, 1}, "peakgate", 100); err != nil {
		t.Error(err)
	}
	seen := f.Judged()
	for _, want := range []string{
		"get /repos/{owner}/{repo}/issues/{issue_number}/comments", "post /repos/{owner}/{repo}/issues/{issue_number}/comments",
		"patch /repos/{owner}/{repo}/issues/comments/{comment_id}", "delete /repos/{owner}/{repo}/issues/comments/{comment_id}",
		"post /repos/{owner}/{repo}/statuses/{sha}", "post /repos/{owner}/{repo}/check-runs", "patch /repos/{owner}/{repo}/check-runs/{check_run_id}",
		"get /repos/{owner}/{repo}/actions/runs/{run_id}",
		"get /repos/{owner}/{repo}/actions/runs/{run_id}/artifacts", "get /repos/{owner}/{repo}/actions/artifacts/{artifact_id}/{archive_format}",
	} {
		if seen[want] == 0 {
			t.Errorf("%s: not sent, or not found in the description; seen %v", want, seen)
		}
	}
}
