// Package guestimage makes what a virtual machine of backend vm boots from: the kernel of one of
// Debian's linux-image packages, and the few of its modules that a machine needs, as an archive
// that the kernel unpacks. It takes no root, starts no program, and makes the same of the same
// package.
//
// An image lies in the user's cache under the digest of its content, which is looked at each time
// that it is read. The program that the kernel starts is no part of it: see [Image.Starting].
package guestimage
