package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
)

func charge(response http.ResponseWriter, request *http.Request) {
	var order struct {
		ID    string
		Cents int
	}
	if err := json.NewDecoder(request.Body).Decode(&order); err != nil {
		http.Error(response, err.Error(), http.StatusInternalServerError)
		return
	}
	if order.Cents == 0 {
		http.Error(response, "an order must cost something", http.StatusUnprocessableEntity)
		return
	}
	fmt.Println("charged", order.ID, "in attempt", request.Header.Get("X-Aws-Sqsd-Receive-Count"))
}

func main() {
	port := os.Getenv("PORT")
	if port == "" {
		port = "8080"
	}
	http.HandleFunc("POST /", charge)
	log.Fatal(http.ListenAndServe("127.0.0.1:"+port, nil))
}
