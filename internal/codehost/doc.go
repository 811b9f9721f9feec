// Package codehost is as much of GitHub and Gitea as posting needs, in memory, for
// tests: comments of pull requests with pages and authors, statuses, check runs,
// runs and their artifacts. Nothing but tests imports it.
//
// Each request is held against GitHub's own OpenAPI description where
// PEAKGATE_OPENAPI names that file; what the description does not allow fails the
// test. Requests come without a network ([Server.RoundTrip], for virtual time) or
// over one ([Server.ServeHTTP]).
package codehost
