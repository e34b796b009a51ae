// Package secrets tells which files of a project hold secrets: by their names, and by what is in
// them where a name alone would break work. names.txt has a row for each name, with a reason.
// The package opens nothing: who finds a file brings what it begins with.
package secrets
