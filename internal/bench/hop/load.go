package hop

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// measureLoads has many callers call at once, one way after the other.
func measureLoads(ctx context.Context, ways []Way, plan Plan) ([]Load, error) {
	crowds := make([][]*caller, len(ways))
	for i, w := range ways {
		for range plan.Callers {
			c, err := dial(ctx, w)
			if err != nil {
				return nil, err
			}
			defer c.close()
			crowds[i] = append(crowds[i], c)
		}
	}
	rates, shares, cpus := make([][]float64, len(ways)), make([][]float64, len(ways)), make([][]float64, len(ways))
	failed := make([]int, len(ways))
	for round := range plan.Rounds + 1 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		direct := 0.0
		for i, w := range ways {
			before := cpuTime(w.PID)
			began := time.Now()
			calls, broken := crowd(crowds[i], plan.Stretch)
			took := time.Since(began)
			spent := cpuTime(w.PID) - before
			rate := float64(calls) / took.Seconds()
			if i == 0 {
				direct = rate
			}
			if round == 0 {
				continue
			}
			failed[i] += broken
			rates[i] = append(rates[i], rate)
			shares[i] = append(shares[i], rate/direct)
			cpus[i] = append(cpus[i], spent.Seconds()*1e6/float64(max(calls, 1)))
		}
	}
	loads := make([]Load, len(ways))
	for i, w := range ways {
		loads[i] = Load{Way: w.Name, Rate: median(rates[i]), Of: median(shares[i]), CPU: median(cpus[i]), Failed: failed[i]}
	}
	return loads, nil
}

// crowd has all callers call until the time is up.
func crowd(all []*caller, stretch time.Duration) (calls, failed int) {
	var good, bad atomic.Int64
	end := time.Now().Add(stretch)
	var wait sync.WaitGroup
	for _, c := range all {
		params := `{"name":"` + c.names[Small] + `","arguments":{"query":"x"}}`
		wait.Go(func() {
			for time.Now().Before(end) {
				if _, err := c.ask("tools/call", params); err != nil {
					bad.Add(1)
				} else {
					good.Add(1)
				}
			}
		})
	}
	wait.Wait()
	return int(good.Load()), int(bad.Load())
}
