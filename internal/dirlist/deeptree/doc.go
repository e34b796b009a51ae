// Package deeptree makes directories that no path reaches, as an ordinary user: for the tests of
// what has to look into such directories or remove them. A command can leave some behind. Only
// tests import it.
package deeptree
