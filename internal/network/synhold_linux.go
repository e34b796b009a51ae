package network

import "carrel/internal/synhold"

// watchDoor has connections inside wait until their far side is reached, where the stage
// could make the sockets for it.
func (n *Network) watchDoor(sockets []int) {
	if len(sockets) == 0 {
		return
	}
	var err error
	if n.holder, err = synhold.Watch(sockets, n.answerFirst); err != nil {
		n.c.Note("connections inside are accepted before their far side is reached: %v", err)
	}
}

// answerFirst answers for one connection.
func (n *Network) answerFirst(ends synhold.Ends) synhold.Answer {
	if !ends.To.Addr().IsLoopback() {
		return n.engine.Answer(ends)
	}
	n.mu.Lock()
	f := n.forwards[ends.To.Port()]
	n.mu.Unlock()
	if f == nil {
		return synhold.Accepted
	}
	return f.Answer(ends)
}
