package base_test

import (
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/peakgate/peakgate/base"
	"github.com/peakgate/peakgate/capture"
)

// How a check uses the package: which commit, what was there, what else changed.
func Example() {
	repository, err := base.Open("peakgate.yml", os.Getenv)
	if errors.Is(err, base.ErrNoRepository) || errors.Is(err, base.ErrNoGit) {
		return // no base: only absolute limits are judged, and the report says so
	}
	if err != nil {
		log.Fatal(err)
	}
	commit, err := repository.Base("") // or the ref of --base
	if err != nil {
		log.Fatal(err) // the base exists, but not here: the error names the command
	}
	if commit.SHA == "" {
		fmt.Println(commit.How)
		return
	}
	tree, err := repository.At(commit)
	if err != nil {
		log.Fatal(err)
	}
	captures := []string{"captures/train/**/*.xplane.pb"} // the target's, as the budget says
	loaded, err := tree.Load("train", captures, capture.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(loaded.Kind, "at", commit.Short(), "which is", commit.How)
	if loaded.Files != nil {
		head, _, err := capture.Find(captures[0])
		if err != nil {
			log.Fatal(err)
		}
		same, err := loaded.Files.Same(head)
		if err != nil {
			log.Fatal(err)
		}
		if n, names, err := tree.Changed(captures); err == nil && same && n > 0 {
			fmt.Println("not re-measured, although", n, "files changed:", names)
		}
	}
}
