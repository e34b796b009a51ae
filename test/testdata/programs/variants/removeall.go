// Removeall removes what its arguments name, as a program of Go does.
package main

import (
	"log"
	"os"
)

func main() {
	for _, path := range os.Args[1:] {
		if err := os.RemoveAll(path); err != nil {
			log.Fatal(err)
		}
	}
}
