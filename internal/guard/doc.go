// Package guard decides the changes that the broker asks about: by the policy, by names that
// make programs outside run code later; by what git would do with the files of a repository, and
// by what was made inside before. [Guard] is the [broker.Decider] of a run; what configurations
// name, and which names are protected, is found at the start and given to it in a [Config]. It
// changes no file.
package guard
