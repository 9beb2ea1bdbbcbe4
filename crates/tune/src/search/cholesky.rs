//! Cholesky factors of small dense matrices. A few hundred trials need no linear-algebra library.

/// The lower factor L of a symmetric positive definite matrix A = L·Lᵀ.
#[derive(Clone, Debug)]
pub struct Cholesky {
    n: usize,
    lower: Vec<f64>,
}

impl Cholesky {
    /// Factors a matrix given by rows; none when it is not positive definite.
    pub fn of(mut a: Vec<f64>, n: usize) -> Option<Self> {
        for j in 0..n {
            for i in j..n {
                let (row_i, row_j) = (i * n, j * n);
                let mut sum = a[row_i + j];
                for k in 0..j {
                    sum -= a[row_i + k] * a[row_j + k];
                }
                if i == j {
                    if sum.is_nan() || sum <= 1e-12 {
                        return None;
                    }
                    a[row_i + j] = sum.sqrt();
                } else {
                    a[row_i + j] = sum / a[row_j + j];
                }
            }
        }
        Some(Self { n, lower: a })
    }

    /// L⁻¹·b
    pub fn forward(&self, b: &mut [f64]) {
        for i in 0..self.n {
            let row = &self.lower[i * self.n..i * self.n + i + 1];
            let done: f64 = row[..i].iter().zip(&b[..i]).map(|(l, x)| l * x).sum();
            b[i] = (b[i] - done) / row[i];
        }
    }

    /// A⁻¹·b
    pub fn solve(&self, b: &[f64]) -> Vec<f64> {
        let mut x = b.to_vec();
        self.forward(&mut x);
        for i in (0..self.n).rev() {
            x[i] /= self.lower[i * self.n + i];
            let value = x[i];
            for (j, below) in x[..i].iter_mut().enumerate() {
                *below -= self.lower[i * self.n + j] * value;
            }
        }
        x
    }

    /// ln |A|
    pub fn log_determinant(&self) -> f64 {
        (0..self.n).map(|i| 2.0 * self.lower[i * self.n + i].ln()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn solves_what_it_factored() {
        let (n, mut random) = (12, Random::new(3));
        let b: Vec<f64> = (0..n * n).map(|_| random.normal()).collect();
        let mut a = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..n {
                a[i * n + j] = (0..n).map(|k| b[i * n + k] * b[j * n + k]).sum::<f64>();
            }
            a[i * n + i] += 0.1;
        }
        let x: Vec<f64> = (0..n).map(|_| random.normal()).collect();
        let y: Vec<f64> = (0..n).map(|i| (0..n).map(|j| a[i * n + j] * x[j]).sum()).collect();
        let found = Cholesky::of(a.clone(), n).unwrap().solve(&y);
        assert!(found.iter().zip(&x).all(|(a, b)| (a - b).abs() < 1e-6), "{found:?} {x:?}");
        a[0] = -1.0;
        assert!(Cholesky::of(a, n).is_none());
        let diagonal = Cholesky::of(vec![2.0, 0.0, 0.0, 8.0], 2).unwrap();
        assert!((diagonal.log_determinant() - 16f64.ln()).abs() < 1e-12);
    }
}
