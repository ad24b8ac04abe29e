import PostureTerminal

ExitStatus.leave(ExitStatus.of { () throws(UsageError) in try Agent.run(Array(CommandLine.arguments.dropFirst())) })
