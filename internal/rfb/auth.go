package rfb

import (
	"crypto/des"
	"crypto/rand"
	"crypto/subtle"
	"math/big"
	"math/bits"
)

// passwordLength is as much of a password as the protocol looks at.
const passwordLength = 8

// passwordLetters are easily told apart when they are typed over.
const passwordLetters = "abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"

// newPassword draws one: 46 bits.
func newPassword() (string, error) {
	out := make([]byte, passwordLength)
	for i := range out {
		n, err := rand.Int(rand.Reader, big.NewInt(int64(len(passwordLetters))))
		if err != nil {
			return "", err
		}
		out[i] = passwordLetters[n.Int64()]
	}
	return string(out), nil
}

// challengeSize is the length of what is enciphered, in bytes (RFC 6143, 7.2.2).
const challengeSize = 16

// respond is what a viewer with this password answers: the challenge by DES, where the
// bits of each byte of the key come in the other order.
func respond(password string, challenge [challengeSize]byte) (out [challengeSize]byte) {
	var key [passwordLength]byte
	for i := range min(len(password), len(key)) {
		key[i] = bits.Reverse8(password[i])
	}
	block, _ := des.NewCipher(key[:]) // any eight bytes are a key
	for i := 0; i < challengeSize; i += des.BlockSize {
		block.Encrypt(out[i:], challenge[i:])
	}
	return out
}

// matches says whether an answer was made with a password.
func matches(password string, challenge, answer [challengeSize]byte) bool {
	want := respond(password, challenge)
	return subtle.ConstantTimeCompare(want[:], answer[:]) == 1
}
