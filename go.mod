module github.com/peakgate/peakgate

go 1.25.0
