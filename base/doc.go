// Package base finds what a head is compared with, and reads it from git.
//
// A Repository answers three questions about a budget file. Which commit is the
// base, and how was it found (Base)? What did the captures, the committed
// measurement and the budget say there (At, then Load and Budget)? And what else
// changed since (Changed)? Nothing is checked out: files are read from git's
// objects into a private folder that Close removes. Only Worktree makes a second
// working tree, for a workload that is to be run at the base.
//
// # The commit
//
// The first of these decides; it is never replaced by another one because
// something is missing:
//
//  1. The ref that the user named, as it is. `--base main` is the tip of main;
//     write $(git merge-base main HEAD) for the place where the branch began.
//  2. In a workflow of GitHub, Gitea or Forgejo, the event. Pull request: the
//     first parent of the merge commit that the service made, if that is what
//     is checked out, since what is measured differs from it by the pull
//     request and by nothing else; otherwise the merge base of HEAD and the
//     event's base. Merge group: its base_sha. Push: the commit before it, for a
//     new branch and after a forced push rule 3.
//  3. The merge base of HEAD and the default branch (origin/HEAD, origin/main,
//     origin/master, main, master); if HEAD is on that branch, its first parent.
//
// A repository without a remote and a first commit have no base: the Commit is
// then empty, and its How says why. A history that is cut off (shallow), objects
// that were left out (partial), Git LFS objects that were not fetched and
// histories without a common ancestor are errors that name the command that
// helps. In a shallow clone a merge base counts only if no hidden commit can be
// a better one.
//
// # The files
//
// Patterns mean what they mean in capture.Find, and are looked up in the tree of
// the base under the names of the head: a capture that git sees as renamed is
// found by its new name, and a budget file that moved takes the patterns with
// it. Inputs carry the path and the commit, as in captures/base.pb@1a2b3c4d5e6f.
// Captures at the base win over the committed measurement in
// .peakgate/base/TARGET.json, which holds one run ("peakgate.measurement/1") or
// several:
//
//	{"schema": "peakgate.base/1", "target": "…", "runs": [measurement, …]}
//
// A Git LFS pointer (github.com/git-lfs/git-lfs, docs/spec.md) is followed to the
// object in the repository's own store, whose size and SHA-256 are checked.
//
// # What is promised
//
// The user's git (tried with 2.39) is run without a shell. It gets no prompt, no
// network, no hooks, no file system monitor, no external diff, no textconv, no
// replaced objects, and no filters but Git LFS's own in Worktree; names that the
// user or an event gives never become options. Every list and file read from it
// has a bound, and no git runs longer than ten minutes.
//
// Cost: some ten runs of git, a few milliseconds each, one walk over the names
// of the base's tree below the patterns, and a copy of the captures to the disk.
// Renames are looked for only if a capture or the budget is new since the base.
package base
