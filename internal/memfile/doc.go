// Package memfile makes files that are nowhere but in memory, memfd_create(2): to hand a
// content to another process by a descriptor, sealed where that has to rely on it.
//
// It also reads a descriptor that another process sent, bounded, and without waiting.
package memfile
