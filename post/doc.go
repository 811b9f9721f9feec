// Package post shows a verdict where people look: in the step of a workflow that
// ran the gate, and on the pull request. It takes text and bytes that are rendered
// already and imports nothing of peakgate's own.
//
// Actions speaks the part of GitHub Actions that needs no token and no network:
// log groups, annotations, the job summary and step outputs. Gitea, Forgejo and
// act speak the same; where they lack a part they print it to the log.
//
// Limits, all of them GitHub's: 10 annotations of a level in a step (the rest
// would be hidden without a word, so they are counted here instead), 4,096
// UTF-16 units in a message, 255 in a title, 1 MiB in a step's summary file.
//
// [Host] speaks the REST API of GitHub, GitHub Enterprise Server, Gitea and Forgejo,
// and [Sync] keeps one comment of a pull request up to date through it;
// [Host.Artifact] fetches what a finished run has left, for a post from another
// workflow. Sources: GitHub's OpenAPI description, which a test holds every request
// against, and its pages on rate limits. The token goes to the API's own host alone.
// A post takes 90 seconds at most, 15 of them for a server that fails.
//
// What is promised: no text, name or value that is passed in can act as a
// workflow command or set another output, and no call panics or changes the
// verdict. Trouble with the log, the summary or an output is an error that the
// caller may print.
package post
