package reduce_test

import (
	"fmt"

	"github.com/spillway-mcp/spillway/reduce"
)

// A server of your own has created three devices, and knows their JSON. It
// answers with what names them; with a token instead, where it has a way to
// give the whole back.
func ExampleConfirm() {
	echo := []byte(`[{"id":11,"name":"edge-1","vlan":89},{"id":12,"name":"edge-2","vlan":90},{"id":13,"name":"edge-3","vlan":91}]`)

	answer, ok, err := reduce.Confirm(echo, reduce.Confirmation{Shape: reduce.ShapeCreate, StatusCode: 201})
	if err != nil {
		panic(err)
	}
	if !ok {
		answer = echo // something in it has to be seen
	}
	fmt.Println(string(answer))

	answer, _, err = reduce.Confirm(echo, reduce.Confirmation{StatusCode: 201, Token: "r_9f2c41d08a3b"})
	if err != nil {
		panic(err)
	}
	fmt.Println(string(answer))

	// Output:
	// {"accepted":3,"status_code":201,"data_size":109,"ids":[11,12,13]}
	// {"accepted":3,"status_code":201,"data_size":109,"continuation_token":"r_9f2c41d08a3b"}
}
