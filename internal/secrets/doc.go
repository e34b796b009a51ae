// Package secrets tells which files of a project hold secrets, by their names and, where a
// name alone would break work, by what is in them. names.txt has a row for each name, with
// a reason. The package opens nothing: who finds a file brings what it begins with.
package secrets
