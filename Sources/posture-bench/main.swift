import PostureTerminal

ExitStatus.leave(ExitStatus.of { () throws(UsageError) in try BenchRun.run(Array(CommandLine.arguments.dropFirst())) })
