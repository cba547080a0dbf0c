// The word that starts the process which reads a database, in place of a command.
export const READ_DATABASE = "__read-database";
