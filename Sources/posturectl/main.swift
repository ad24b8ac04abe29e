import PostureTerminal

ExitStatus.leave(Posturectl.run(Array(CommandLine.arguments.dropFirst())))
