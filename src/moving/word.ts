// The word that starts the process which reads a file, in place of a command.
export const READ_FILE = "__read-file";
