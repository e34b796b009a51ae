// Package notify tells the person at a desktop, by its own notification service, that
// an operation waits for their word. It speaks to the host's session bus, from outside
// the walls: programs inside have another bus, or none, and cannot reach this one.
//
// One connection is made for each notification: greeting, the owner of the service's name, one
// call of org.freedesktop.Notifications.Notify, and its answer. That is taken from that owner
// alone, and nothing is used of it but its number. A notification has no buttons: it says what
// to type, and where.
//
// What it shows comes from inside. Text is bounded, what is no printable character is
// left out, and what could be read as markup is escaped. A program that asks again and
// again makes one notification in [Pause], which says how many wait.
//
// A [Messenger] shows what a program inside wants told, under the workspace's name, which
// comes first and which nothing else begins with. Such a program cannot replace what
// others show: it has numbers of its own for its notifications, which mean something
// here only.
//
// The package imports packages api and dbus alone of this module.
package notify
