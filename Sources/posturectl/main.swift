import Glibc
import PostureTerminal

exit(Posturectl.run(Array(CommandLine.arguments.dropFirst())))
