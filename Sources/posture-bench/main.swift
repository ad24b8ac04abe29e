import Glibc
import PostureTerminal

exit(ExitStatus.of { () throws(UsageError) in try BenchRun.run(Array(CommandLine.arguments.dropFirst())) })
