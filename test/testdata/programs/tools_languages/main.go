package main

import "fmt"

func Two() int { return 2 }

func main() { fmt.Println("built", Two()) }
