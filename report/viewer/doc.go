// Package viewer writes the Memory Viewer page: one HTML file that shows the data
// of package page, and its timeline alone as SVG or DOT.
//
// The page needs no network and no server. Its policy (CSP) lets nothing run but
// the one script and the one style of its own, by their hashes. The data is JSON in
// a script element, with every < escaped, and the script makes text nodes of names:
// no name from a capture becomes markup.
//
// The files in assets are put one after another, in the order of their names; the
// script is one strict function. There is no build step.
package viewer
