// Package series reads numbers over steps or seconds that any tool wrote: tables
// with a header, JSON lines with the same keys, and the files of mprof, psrecord
// and prmon as they are.
//
// Format series.csv: a header line with a column step or seconds and columns
// NAME_bytes, NAME_kib, NAME_mib, NAME_gib, NAME_kb, NAME_mb, NAME_gb or
// NAME_count, each of which becomes the series NAME; where both x columns are
// there, step is x. Cells are separated by commas, semicolons or tabs, as the
// header shows, and may stand in double quotes. A byte order mark, CRLF, empty
// lines and lines that begin with # are passed over; so are columns of other
// names, which is said. JSON lines are one object a line with the same keys.
//
// Other tools, read from their sources:
//
//   - mprof, https://github.com/pythonprofilers/memory_profiler/blob/master/memory_profiler.py:
//     "MEM <MiB> <unix seconds>" is the series mem; "CHLD <pid> <MiB> <seconds>"
//     lines that follow one such line are summed to the series children; CMDLINE and
//     FUNC lines are passed over. Which memory it is (RSS mostly) the file does not tell.
//   - psrecord, https://github.com/astrofrog/psrecord/blob/main/psrecord/main.py: "# Elapsed time"
//     and its CSV with elapsed_time; the numbers that it calls MB are MiB. mem_real is a
//     sum of RSS; mem_virtual and nproc are series without a growth row.
//   - prmon, https://github.com/HSF/prmon: a table that begins with Time and has a
//     column wtime (seconds); pss, rss, swap and vmem are the kernel's kB, which are
//     KiB. Growth is given for pss: the others count pages several times or not at all.
//
// Units: KiB, MiB and GiB are powers of 1024; kB, MB and GB powers of 1000. A decimal
// gives the nearest whole number of bytes, which restores what a program divided
// by 2^20 and printed in full; where the decimals are too few for that, a warning
// tells how much one step of the last digit is. Counts are whole numbers.
//
// An empty cell (in JSON null, or no key) is absent, and never 0. A column that is
// 0 in all rows is no data: a tool that cannot read a number often writes 0. NaN
// and Inf are errors. A step counter that falls began again (a new epoch, a
// resumed run): it is counted on, and said. Seconds that fall are an error. Of
// several rows with one x the lowest level counts. A last line without its end was
// cut off: it is left out, and said.
//
// A column need_bytes or need_count tells what each step itself asked for: the size of
// its batch, or its peak above the level that it began with. Growth that comes only with
// new maxima of it is told apart.
//
// Names with a word peak, max, maxrss or hwm whose levels never fall are high-water
// marks, which can only rise: they are not judged for a trend.
//
// Cost: one pass; a line and at most 4,096 points a series are held, longer series
// being thinned by [measure.Levels].
//
// What is promised: no input makes Read panic, hang, or hold memory out of proportion
// to what it read; errors name line and column. Types and functions may still change.
package series
