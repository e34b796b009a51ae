// Package clipboard is what the programs of one workspace copy to and paste from, see
// [Clipboard]. [Send] and [Take] are how a person carries something between it and their own
// desktop's.
//
// What lies on the person's clipboard is read at two moments only: when they send it, and,
// where the policy says so, just after they have pressed the key for pasting. What is
// inside never sees that one otherwise. Who may ask is decided elsewhere.
package clipboard
