// Package remask keeps files hidden that a mount masks: an editor outside saves by renaming
// a new file over the old one, and the mask goes with the old one. It watches the
// directories, hides the new file too, and tells files of secrets that commands made
// inside from those that come from outside.
package remask
