import Glibc
import PostureTerminal

exit(ExitStatus.of { () throws(UsageError) in try Agent.run(Array(CommandLine.arguments.dropFirst())) })
