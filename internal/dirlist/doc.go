// Package dirlist reads directories that are held open, name by name, and gives back what a mode
// has withheld from the user. So trees of any depth are gone through by descriptors, and
// removed. Below its top a tree has no paths here.
package dirlist
